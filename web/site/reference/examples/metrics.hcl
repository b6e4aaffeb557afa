server { admin = "127.0.0.1:9393" }

metrics {}
files { dir = "www" }
