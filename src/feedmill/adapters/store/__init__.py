"""The store on SQL: one schema and one set of statements for SQLite and PostgreSQL."""
