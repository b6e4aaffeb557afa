authenticate {
  users    = "users"
  realm    = "staff only"
  width    = 2
  queue    = 100
  attempts = 5

  allowed {
    files { dir = "private" }
  }
  refused {
    status { code = 401 }
  }
}
