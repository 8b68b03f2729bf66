package key

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/pbkdf2"
	"crypto/sha1"
	"errors"
)

// How often PBKDF2 goes round (kIterations of os_crypt_linux.cc and
// os_crypt_mac.mm).
const (
	linuxRounds = 1
	macRounds   = 1003
)

var errWrongSecret = errors.New(`the secret does not open "encryptedKey"; the profile, or the keyring, may come from another machine`)

// openCBC decrypts what Chromium has encrypted on Linux and macOS under one of
// the passwords. Only a key counts: the padding alone would fit one wrong
// password in 256.
func openCBC(sealed []byte, rounds int, passwords ...[]byte) ([]byte, error) {
	if len(sealed) == 0 || len(sealed)%aes.BlockSize != 0 {
		return nil, errors.New(`"encryptedKey" is cut off: not whole blocks of AES`)
	}
	for _, password := range passwords {
		text, err := decryptCBC(sealed, rounds, password)
		if err != nil {
			return nil, err
		}
		if body, ok := unpad(text); ok && isKey(body) {
			return body, nil
		}
		clear(text)
	}
	return nil, errWrongSecret
}

func decryptCBC(sealed []byte, rounds int, password []byte) ([]byte, error) {
	key, err := derive(password, rounds)
	if err != nil {
		return nil, err
	}
	defer clear(key)
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	text := make([]byte, len(sealed))
	cipher.NewCBCDecrypter(block, []byte("                ")).CryptBlocks(text, sealed) // 16 blanks
	return text, nil
}

// derive makes the key of AES-128 out of a password.
func derive(password []byte, rounds int) ([]byte, error) {
	return pbkdf2.Key(sha1.New, string(password), []byte("saltysalt"), rounds, 16)
}

// unpad takes off the padding of PKCS #7 (RFC 5652, section 6.3), and says
// whether it was one.
func unpad(text []byte) ([]byte, bool) {
	n := int(text[len(text)-1])
	if n == 0 || n > aes.BlockSize || n > len(text) {
		return nil, false
	}
	body, padding := text[:len(text)-n], text[len(text)-n:]
	for _, b := range padding {
		if int(b) != n {
			return nil, false
		}
	}
	return body, true
}

// openGCM decrypts what Chromium has encrypted on Windows: a nonce of 12 bytes,
// then AES-256-GCM with its tag.
func openGCM(sealed, key []byte) ([]byte, error) {
	if len(key) != 32 {
		return nil, errors.New("the key of Local State is not one of AES-256")
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	if len(sealed) < gcm.NonceSize() {
		return nil, errors.New(`"encryptedKey" is cut off: no whole nonce`)
	}
	nonce, sealed := sealed[:gcm.NonceSize()], sealed[gcm.NonceSize():]
	text, err := gcm.Open(nil, nonce, sealed, nil)
	if err != nil {
		return nil, errors.New(`the key of Local State does not open "encryptedKey": the two files are not of one profile`)
	}
	return text, nil
}
