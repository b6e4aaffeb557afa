files { dir = "www" }
inject {
  text   = "<link rel=\"stylesheet\" href=\"/dark.css\">"
  before = "head"
}
inject "footer" { file = "footer.html" }
