files { dir = "www" }
rot13_piped {}
