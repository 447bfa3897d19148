"""The pages for people: their languages and templates."""
