files { dir = "www" }
compress {
  codings  = ["br", "gzip"]
  types    = ["text/*", "*+json"]
  min_size = "1KB"
  effort   = "best"
  cache    = "64MB"
}
