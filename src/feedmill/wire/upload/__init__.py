"""Request bodies of the feed port: multipart, form-urlencoded and raw XML, told apart by their bytes, read as they arrive."""
