files { dir = "www" }
replace {
  old   = "http://old.example.org"
  new   = "https://example.org"
  types = ["text/html", "text/css"]
}
