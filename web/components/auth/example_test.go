package auth_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/crypto/bcrypt"

	"weir/web"
	"weir/web/components/auth"
)

// greeting says hello to whom authentication has named.
var greeting = web.Source(func(c *web.Conn) web.Body { return web.String("hello " + c.StringValue(web.User)) })

// show prints what a composition answers to a request with a field Authorization.
func show(c web.Component, authorization string) {
	h, err := web.New(c, web.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Close()
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("Authorization", authorization)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	fmt.Println(strings.TrimSpace(fmt.Sprintf("%d %q %s", w.Code, w.Body, w.Header().Get("WWW-Authenticate"))))
}

// A private area: clients with a password see it, others are asked for one.
func ExampleBasic() {
	hash, _ := bcrypt.GenerateFromPassword([]byte("sesame"), bcrypt.MinCost)
	users := filepath.Join(os.TempDir(), "example.htpasswd")
	_ = os.WriteFile(users, []byte("ann:"+string(hash)+"\n"), 0o600)
	defer os.Remove(users)

	private, err := auth.Basic(auth.BasicConfig{Users: users, Realm: "attic"}, greeting)
	if err != nil {
		fmt.Println(err)
		return
	}
	r := &http.Request{Header: http.Header{}}
	r.SetBasicAuth("ann", "sesame")
	show(private, r.Header.Get("Authorization"))
	show(private, "")
	// Output:
	// 200 "hello ann"
	// 401 "401 Unauthorized\n" Basic realm="attic", charset="UTF-8"
}

// A plain pipe: what follows it is for those who have a token.
func ExampleBearer() {
	secret := []byte("a secret of 32 bytes or more, kept")
	key := filepath.Join(os.TempDir(), "example.secret")
	_ = os.WriteFile(key, secret, 0o600)
	defer os.Remove(key)

	tokens, err := auth.Bearer(auth.BearerConfig{Algorithm: "HS256", Key: key}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	token := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{"sub": "ann", "exp": time.Now().Add(time.Hour).Unix()})
	text, _ := token.SignedString(secret)
	show(web.Chain(tokens, greeting), "Bearer "+text)
	// Output: 200 "hello ann"
}
