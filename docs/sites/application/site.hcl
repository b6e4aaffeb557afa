# An application with a login, an interface for programs, and limits for both.
server { listen = ":8080" }

log {
  file   = "access.json"
  format = "json"
}
request_id {}
security {}

# The public page is one file: what is no file is a view of the page.
route "/" {
  files "page" {
    dir      = "www"
    fallback = "/index.html"
  }
}

# People log in by name and password: weir serve password writes the file of users.
route "/private/" {
  authenticate {
    users    = "users"
    realm    = "the application"
    attempts = 5

    allowed {
      limit_concurrency { max = 100 }
      proxy "application" {
        upstreams  = ["http://127.0.0.1:9000"]
        user_field = "X-Remote-User"
      }
    }
    refused {
      status {
        code = 401
        file = "login.html"
      }
    }
  }
}

# Programs have tokens. The limit holds for each address, also for those without a token.
route "/api/" {
  limit_rate {
    rate  = 60
    per   = "1m"
    burst = 20
  }
  bearer {
    algorithm = "HS256"
    key       = "secret"
    issuer    = "https://login.example.org"
    audience  = "https://api.example.org"
  }
  proxy "interface" {
    upstreams  = ["http://127.0.0.1:9000"]
    user_field = "X-Remote-User"
  }
}

compress {}
