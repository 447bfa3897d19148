"""Reading XML from strangers: charset, prolog, elements and the repair of what real clients get wrong."""
