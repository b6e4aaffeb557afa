# A blog: pages that a generator has written into www, served as they are.
server { listen = ":8080" }

log { file = "access.log" }
security {}

redirect "the feed's old address" {
  from   = "/feed"
  to     = "/feed.xml"
  status = 301
}

route "/" {
  files "pages" {
    dir       = "www"
    hide      = ["drafts", "*.bak"]
    not_found = "/404.html"
  }
}

# The generator puts a hash into the names of these files, so a browser may keep them.
route "/assets/" {
  headers { set = { "Cache-Control" = "public, max-age=31536000, immutable" } }
  files "assets" { dir = "www" }
}

compress {}
