"""How the crawler reads SMB shares, with their ACLs."""
