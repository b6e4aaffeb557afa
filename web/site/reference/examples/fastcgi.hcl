route "/" {
  files {
    dir      = "www"
    fallback = "next"
  }
  fastcgi "WordPress" {
    address  = "unix:/run/php/php-fpm.sock"
    dir      = "www"
    split    = ".php"
    fallback = "/index.php"
  }
}
route "/app/" {
  fastcgi {
    address = "unix:/run/php/php-fpm.sock"
    dir     = "www"
    split   = ".php"
    index   = "home.php"
    prefix  = "/app"
    env     = { "APP_ENV" = "production" }

    dial_timeout = "2s"
    timeout      = "30s"
    max_head     = "16KB"
    max_input    = "10MB"
    width        = 32
    queue        = 64
  }
}
