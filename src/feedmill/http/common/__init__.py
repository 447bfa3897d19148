"""What the applications of all ports share."""
