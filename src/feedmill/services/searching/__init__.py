"""What a person who searches gets: results, suggestions, other spellings, groups of results, cached copies."""
