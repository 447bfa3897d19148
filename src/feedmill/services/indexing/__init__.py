"""Services that bring documents from the store into the index: extraction, links, writing."""
