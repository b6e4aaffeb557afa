package site

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"weir/web/internal/webtest"
)

// folderWithUsers makes a folder www of files and a file of users: ann with the password sesame.
func folderWithUsers(t *testing.T, files map[string]string) (www, users string) {
	t.Helper()
	dir := t.TempDir()
	hash, err := bcrypt.GenerateFromPassword([]byte("sesame"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	put := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	for name, text := range files {
		put("www/"+name, text)
	}
	return filepath.Join(dir, "www"), put("users", "ann:"+string(hash)+"\n")
}

// The rule: routes, conditions and logins decide on the path of the request, once, and a fallback
// changes no path. So the fallback answers only where the request itself is admitted, and neither
// the page's own path nor the script's is matched against anything.
func TestAccessIsDecidedOnTheRequestedPathAndNotOnTheFallbacks(t *testing.T) {
	www, users := folderWithUsers(t, map[string]string{"index.html": "app", "private/index.html": "private app", "private/notes.txt": "notes", "private/x.php": "source",
		"about.html": "about", "notes.html": "my notes", "draft.html": "draft", "private/secret.html": "secret"})
	ann := []string{"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte("ann:sesame"))}
	for about, c := range map[string]struct {
		site      string
		requested []request
	}{
		"a route with a login": {`
			route "/" {
			  files {
			    dir      = %q
			    fallback = "/index.html"
			  }
			}
			route "/private/" {
			  authenticate { users = %q }
			  files {
			    dir      = %[1]q
			    fallback = "/private/index.html"
			  }
			}`, []request{
			{"/any/path", nil, 200, "app"},
			{"/private/any", nil, 401, ""},
			{"/private/any", ann, 200, "private app"},
			{"/x/../private/any", nil, 401, ""},
			{"//private//notes.txt", nil, 401, ""},
			{"/%70rivate/any", nil, 401, ""},
			{"/privat%65/", nil, 401, ""},
		}},
		"a condition before files that pass on": {`
			when {
			  path = "/private/**"
			  authenticate { users = %[2]q }
			}
			files {
			  dir      = %[1]q
			  fallback = "next"
			}
			when {
			  path = "/api/**"
			  text { text = "api" }
			}
			text { text = "behind" }`, []request{
			{"/private/notes.txt", nil, 401, ""},
			{"/private/none", nil, 401, ""},
			{"/private/x.php", nil, 401, ""},
			{"/private/x.php", ann, 200, "behind"}, // and not its source
			{"/private/notes.txt", ann, 200, "notes"},
			{"/private/none", ann, 200, "behind"},
			{"/private;x/none", nil, 400, ""}, // a component behind could take it for /private/none
			{"/private/.env", ann, 404, ""},
			{"/api/x", nil, 200, "api"}, // components behind decide on the same path
			{"/x/../api/x", nil, 200, "api"},
			{"/", nil, 200, "app"},
		}},
		"rules on the path of a page that stands for another": {`
			when {
			  path = "/notes.*"
			  authenticate { users = %[2]q }
			}
			route "/draft.html" {
			  status { code = 403 }
			}
			route "/deep/" {
			  rewrite { strip_prefix = "/deep" }
			  files {
			    dir      = %[1]q
			    fallback = "{path}.html"
			  }
			}
			route "/" {
			  when {
			    method = "GET"
			    path   = "/private/secret.html"
			    not    = true
			    headers { set = { "X-Open" = "yes" } }
			  }
			  files {
			    dir      = %[1]q
			    fallback = ["{path}.html", "/index.html"]
			  }
			}`, []request{
			{"/about", nil, 200, "about"},
			{"/notes", nil, 200, "app"},
			{"/notes", ann, 200, "app"}, // the rule has not decided on this path
			{"/notes.html", nil, 401, ""},
			{"/notes.html", ann, 200, "my notes"},
			{"/draft", nil, 200, "app"},
			{"/draft.html", nil, 403, ""},
			{"/%64raft", nil, 200, "app"},
			{"/x/..//draft", nil, 200, "app"},
			{"/private/secret", nil, 200, "app"},
			{"/deep/about", nil, 404, ""}, // routes have decided before the path was rewritten
		}},
		// The site's author opens this one page: that is what a fallback says.
		"a fallback page in a folder that has a login": {`
			route "/" {
			  files {
			    dir      = %[1]q
			    fallback = "/private/index.html"
			  }
			}
			route "/private/" {
			  authenticate { users = %[2]q }
			  files { dir = %[1]q }
			}`, []request{
			{"/any", nil, 200, "private app"},
			{"/private/index.html", nil, 401, ""},
			{"/private/", nil, 401, ""},
			{"/private/notes.txt", nil, 401, ""},
		}},
	} {
		for _, way := range []string{"chain", "network"} {
			l := live(t, "", fmt.Sprintf("server { run = %q }\n", way)+fmt.Sprintf(c.site+"%.0[2]s", www, users))
			for _, r := range c.requested {
				resp, body := webtest.Raw(t, l.url, "GET "+r.target+" HTTP/1.1", r.fields...)
				if resp.StatusCode != r.status || r.body != "" && body != r.body {
					t.Errorf("%s, %s: GET %s with %v: got %d %q, want %d %q", about, way, r.target, r.fields, resp.StatusCode, body, r.status, r.body)
				}
			}
		}
	}
}

// request is a request with the response that it must get.
type request struct {
	target string
	fields []string
	status int
	body   string // "": any
}
