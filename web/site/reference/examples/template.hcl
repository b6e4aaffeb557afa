template {
  files = ["page.html", "parts.html"]
  vars  = { "Title" = "Example" }
  type  = "text/html; charset=utf-8"
  max   = "256KB"
  check = "5s"
}
