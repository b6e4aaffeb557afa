/* Hashes against the examples of their standards, and a login by SCRAM against that of RFC 7677. */
#include "unit.h"

#include "check.h"
#include "crc32c.h"
#include "scram.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void
same(const unsigned char digest[SHA256_SIZE], const char *hex, const char *what)
{
	char got[2 * SHA256_SIZE + 1];

	for (int i = 0; i < SHA256_SIZE; i++)
		snprintf(got + 2 * i, 3, "%02x", digest[i]);
	check(strcmp(got, hex) == 0, "%s is %s; got %s", what, hex, got);
}

static void
test_hashes(void)
{
	unsigned char d[SHA256_SIZE];
	struct sha256 h;

	check(crc32c("123456789", 9) == 0xE3069283, "the CRC-32C of 123456789 is its check value, E3069283; got %08X", (unsigned)crc32c("123456789", 9));
	sha256(slice_of(""), d);
	same(d, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "SHA-256 of nothing");
	sha256(slice_of("abc"), d);
	same(d, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "SHA-256 of abc");
	sha256(slice_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"), d);
	same(d, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1", "SHA-256 of two blocks");
	sha256_begin(&h);
	for (int i = 0; i < 100000; i++)
		sha256_add(&h, "aaaaaaaaaa", 10);
	sha256_end(&h, d);
	same(d, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0", "SHA-256 of a million times a");
	hmac_sha256(slice_of("Jefe"), slice_of("what do ya want for nothing?"), d);
	same(d, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843", "HMAC (RFC 4231, case 2)");
	pbkdf2_sha256(slice_of("passwd"), slice_of("salt"), 1, d);
	same(d, "55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc", "PBKDF2 (RFC 7914, section 11)");
}

/* RFC 7677, section 3: user "user", password "pencil". */
static const char verifier_text[] = "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=";

static void
test_verifier(void)
{
	struct verifier v;
	static const char *const wrong[] = { "", "-", "SCRAM-SHA-1$4096:W22ZaJ0SNY7soEsUEjb6gQ==$a:b", "SCRAM-SHA-256$1:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=",
		"SCRAM-SHA-256$4096:W22Z$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=" };

	check(verifier_parse(slice_of(verifier_text), &v), "verifier_parse accepts the verifier \"%s\"", verifier_text);
	check(verifier_proves(&v, slice_of("pencil")), "the verifier accepts the password pencil");
	check(!verifier_proves(&v, slice_of("pencils")), "the verifier rejects the password pencils");
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		check(!verifier_parse(slice_of(wrong[i]), &v), "verifier_parse rejects \"%s\"", wrong[i]);
}

static void
begin(struct scram *s, char *message, size_t capacity)
{
	struct verifier v;
	struct slice login;

	check(verifier_parse(slice_of(verifier_text), &v), "verifier_parse accepts the verifier \"%s\"", verifier_text);
	check(scram_begin(s, slice_of("n,,n=user,r=rOprNGfwEbeRWgbNEkqO"), &login) && slice_equal(login, slice_of("user")), "the client-first-message of RFC 7677, section 3, names user");
	check(scram_challenge(s, &v, "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0", message, capacity), "scram_challenge answers the client-first-message");
}

static void
test_scram(void)
{
	static const char last[] = "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";
	static const char *const first_wrong[] = { "", "n,,", "p=tls-unique,,n=user,r=abcdefgh", "n,,n=user", "n,,r=abcdefgh", "n,a=other,n=user,r=abcdefgh", "n,,m=x,n=user,r=abcdefgh", "n,,n=user,r=short" };
	char message[SCRAM_MESSAGE_MAX], changed[sizeof last];
	struct scram s;
	struct slice login;

	begin(&s, message, sizeof message);
	check(strcmp(message, "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096") == 0, "the server-first-message is that of RFC 7677, section 3; got \"%s\"", message);
	check(scram_finish(&s, slice_of(last), message, sizeof message), "the client proof of RFC 7677, section 3, is accepted");
	check(strcmp(message, "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=") == 0, "the server signature is that of RFC 7677, section 3; got \"%s\"", message);
	check(!scram_finish(&s, slice_of(last), message, sizeof message), "a client proof is not accepted a second time in the same exchange");
	for (size_t i = 0; i < sizeof last - 1; i++) {
		memcpy(changed, last, sizeof last);
		changed[i] = changed[i] == 'A' ? 'B' : 'A';
		begin(&s, message, sizeof message);
		check(!scram_finish(&s, slice_of(changed), message, sizeof message), "a client-final-message with byte %zu changed is rejected", i);
	}
	for (size_t i = 0; i < sizeof first_wrong / sizeof *first_wrong; i++)
		check(!scram_begin(&s, slice_of(first_wrong[i]), &login), "scram_begin rejects the client-first-message \"%s\"", first_wrong[i]);
}

void
test_crypto(void)
{
	test_hashes();
	test_verifier();
	test_scram();
}
