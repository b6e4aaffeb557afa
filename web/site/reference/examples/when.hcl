when "private" {
  path   = "/private/**"
  method = ["GET", "HEAD"]
  host   = "example.org"
  from   = ["10.0.0.0/8", "::1/128"]
  not    = true

  status { code = 403 }
}
when "old app" {
  header = "X-Requested-With: app"
  secure = false

  headers { set = { "Deprecation" = "true" } }
}
