"""When is a run of a pull source due?"""
