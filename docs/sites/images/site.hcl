# Photos in several widths, with a watermark, and smaller for clients that want to save data.
server { listen = ":8080" }

log { file = "access.log" }
security {}

route "/" {
  files "pages" { dir = "www" }
}

# /photos/dam.jpg?w=640 is 640 pixels wide. The cache keeps what the filters have made.
route "/photos/" {
  cache {
    memory  = "256MB"
    largest = "4MB"

    headers { set = { "Cache-Control" = "public, max-age=3600" } }
    files "photos" { dir = "www" }
    resize { widths = [320, 640, 1280] }
    watermark {
      image   = "mark.png"
      opacity = 0.8
    }
    lower_quality {}
  }
}
