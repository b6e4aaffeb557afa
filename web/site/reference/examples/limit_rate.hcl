server { trusted = ["10.0.0.0/8"] }

limit_rate {
  rate    = 100
  per     = "1m"
  burst   = 20
  header  = "X-Customer"
  clients = 10000
}
files { dir = "www" }
