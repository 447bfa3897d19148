"""The feed protocol of the Google Search Appliance, both of its generations: XML in, changes out."""
