route "/gone/" {
  status {
    code = 410
    text = "<h1>{status} {reason}</h1>\n"
    type = "text/html; charset=utf-8"
  }
}
route "/closed/" {
  status {
    code = 503
    file = "sorry.html"
  }
}
