files {
  dir           = "www"
  strip         = "/static"
  index         = "home.html"
  list          = true
  dotfiles      = true
  not_found     = "/404.html"
  precompressed = ["br", "gzip"]
  cache         = "256MB"
  cache_file    = "1MB"
}
