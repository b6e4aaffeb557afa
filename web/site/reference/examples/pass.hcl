pass {}
files { dir = "www" }
