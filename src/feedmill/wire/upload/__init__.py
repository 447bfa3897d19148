"""Request bodies of the feed port: multipart, form-urlencoded and raw XML, distinguished by their bytes, read as they arrive."""
