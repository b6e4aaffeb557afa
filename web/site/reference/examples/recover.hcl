recover {
  text = "<h1>{status}</h1>\n"
  type = "text/html; charset=utf-8"
}
recover "from a file" { file = "sorry.html" }
files { dir = "www" }
