route "/static/" {
  files {
    dir           = "www"
    strip         = "/static"
    index         = "home.html"
    list          = true
    dotfiles      = true
    hide          = ["*.bak", "drafts"]
    not_found     = "/404.html"
    precompressed = ["br", "gzip"]
    cache         = "256MB"
    cache_file    = "1MB"
  }
}
route "/" {
  files "single-page application" {
    dir      = "www"
    fallback = ["{path}.html", "/index.html"]
  }
}
