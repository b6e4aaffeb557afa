files { dir = "www" }
pass_piped {}
