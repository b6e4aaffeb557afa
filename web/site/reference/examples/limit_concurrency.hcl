limit_concurrency { max = 100 }
files { dir = "www" }
