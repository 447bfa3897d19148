"""Services behind the search page and API: results, suggestions, spelling, groups of results, cached copies."""
