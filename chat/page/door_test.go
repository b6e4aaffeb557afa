package page

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"weir/chat"
	"weir/chat/account"
	"weir/internal/chromium"
)

// invite creates an invite code.
func (h *host) invite() string {
	h.t.Helper()
	store, err := account.Open(h.dir, account.Options{Iterations: 4096})
	if err != nil {
		h.t.Fatal(err)
	}
	defer store.Close()
	code, _, err := store.NewInvite("ann", time.Now().Add(time.Hour))
	if err != nil {
		h.t.Fatal(err)
	}
	return code
}

// A user opens a link with an invite, chooses a name and a password, and is logged in. The account
// works after a reconnect and on another device.
func TestAnInviteRegistersAnAccount(t *testing.T) {
	t.Parallel()
	h := startHost(t, Config{}, chat.Options{Network: "Village"})
	b := open(t)
	b.listen()
	b.Size(360, 740, false)
	b.Go("http://" + h.addr + "/#invite=" + strings.ToLower(h.invite()) + "&room=garden")
	b.Until(`document.querySelector("#kinds input:checked").value == "invite" && location.hash == "" && document.activeElement.id == "name"`)
	if w := chromium.Eval[int](b.Page, `document.documentElement.scrollWidth`); w > 360 {
		t.Errorf("width of the login form: got %d, want at most 360", w)
	}
	b.picture("register")
	b.Write("dora")
	b.focus("#password")
	b.Write("short")
	b.Press("Enter")
	if len(chromium.Eval[[]string](b.Page, `said`)) > 0 {
		t.Error("registration with a password of 5 characters: got a request to the server, want the form to refuse it")
	}
	b.Write(" no more")
	b.Press("Enter")
	b.Until(`document.querySelector("#title").textContent == "#garden" && document.querySelector("#me").textContent == "dora"`)
	h.cut()
	b.Until(`document.querySelector("#state").textContent == "" && said.filter((l) => l.startsWith("AUTHENTICATE")).length == 4`)

	b.Go("about:blank")
	b.Go("http://" + h.addr + "/#invite=" + strings.Repeat("A", 26))
	b.Until(`document.querySelector("#invite").value != ""`)
	b.Until(`(document.querySelector("#name").value = "emil", document.querySelector("#password").focus(), document.activeElement.id == "password")`)
	b.Write("another password")
	b.Press("Enter")
	b.Until(`document.querySelector("#refused").textContent.includes("invite code")`)
	h.visit(b, "dora", "short no more", "#garden")
	b.inRoom("#garden")
	b.clean(h)
}

// The page sends a password to the server only if the browser provides no cryptography.
func TestThePasswordIsSentOnlyWithoutWebCrypto(t *testing.T) {
	t.Parallel()
	h := startHost(t, Config{}, chat.Options{})
	const password = "käse\u00a0½ brot"
	h.account("ann", password)
	plain := base64.StdEncoding.EncodeToString([]byte("\x00ann\x00" + password))
	b := open(t)
	b.listen()
	h.visit(b, "ann", password, "#a")
	b.inRoom("#a")
	if said := strings.Join(chromium.Eval[[]string](b.Page, `said`), "\n"); !strings.Contains(said, "AUTHENTICATE :SCRAM-SHA-256\n") || strings.Contains(said, plain) {
		t.Errorf("login with Web Crypto: sent\n%s\nwant SCRAM and no password", said)
	}
	rfc := chromium.Eval[[]string](b.Page, `import("./scram.js").then(async ({ Scram }) => { const s = new Scram("user", "pencil", "rOprNGfwEbeRWgbNEkqO");
		return [await s.answer(""), await s.answer("r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"),
			await s.answer("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="), String(s.proven), await s.answer("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G5=").catch(String)] })`)
	want := []string{"n,,n=user,r=rOprNGfwEbeRWgbNEkqO", "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=", "", "true",
		"Error: the server did not prove that it knows the password"}
	for i := range want {
		if rfc[i] != want[i] {
			t.Errorf("RFC 7677, step %d: got %q, want %q", i, rfc[i], want[i])
		}
	}
	b.clean(h)

	unsafe := b.another()
	unsafe.listen()
	unsafe.Call("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": `Object.defineProperty(Crypto.prototype, "subtle", { value: undefined })`}, nil)
	h.visit(unsafe, "ann", password, "#a")
	unsafe.inRoom("#a")
	if said := strings.Join(chromium.Eval[[]string](unsafe.Page, `said`), "\n"); !strings.Contains(said, "AUTHENTICATE :"+plain) {
		t.Errorf("login without Web Crypto: sent\n%s\nwant PLAIN", said)
	}
	if hidden := chromium.Eval[bool](unsafe.Page, `document.querySelector("#unsafe").hidden`); hidden {
		t.Error("login without Web Crypto: got the warning hidden, want it shown")
	}
	unsafe.clean(h)
}
