"""What a process records of itself: metrics for Prometheus, and the log. Every layer may use it."""
