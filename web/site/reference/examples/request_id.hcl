request_id {
  header = "X-Correlation-ID"
  trust  = true
}
files { dir = "www" }
