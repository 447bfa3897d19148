"""The JSON resources of the admin port."""
