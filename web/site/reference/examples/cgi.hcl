route "/cgi-bin/" {
  cgi {
    dir         = "cgi-bin"
    prefix      = "/cgi-bin"
    env         = { "APP_ENV" = "production" }
    max_running = 64
  }
}
route "/report" {
  cgi {
    program      = "/bin/echo"
    args         = ["hello"]
    timeout      = "5m"
    idle_timeout = "30s"
    max_head     = "16KB"
    max_input    = "10MB"
    width        = 8
    queue        = 16
  }
}
