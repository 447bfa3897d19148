"""The groups feed of the Google Search Appliance: XML in, group definitions out."""
