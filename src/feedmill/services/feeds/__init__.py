"""Services for feeds on their way into the store: intake, reading, applying, status, and making feeds from folders."""
