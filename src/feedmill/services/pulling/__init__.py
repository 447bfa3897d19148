"""How do the documents of a pull source get into the store?"""
