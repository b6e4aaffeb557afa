route "/" {
  files { dir = "www" }
}
route "/changes" {
  watch {
    dir      = "www"
    interval = "2s"
    max_open = 4
  }
}
