"""What the head of an HTML page tells a crawler."""
