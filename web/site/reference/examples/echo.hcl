route "/echo" {
  echo {
    origins     = ["*.example.org"]
    protocols   = ["chat.v1"]
    max_message = "16KB"
    ping        = "20s"
    max_open    = 1000
  }
}
