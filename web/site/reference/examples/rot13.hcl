files { dir = "www" }
rot13 {}
