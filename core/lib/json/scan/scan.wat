;; Finds the structure of a JSON text, 64 bytes at a time, and copies the text without its long strings.
;;
;; A block becomes masks of 64 bits, one bit for each byte: where quotes, backslashes, commas are. Escapes and the
;; insides of strings follow from them by arithmetic, without a branch for each byte. The method is that of
;; G. Langdale, D. Lemire, "Parsing Gigabytes of JSON per Second" (2019), and, for UTF-8, J. Keiser, D. Lemire,
;; "Validating UTF-8 In Less Than One Instruction Per Byte" (2021).
;;
;; It validates what it leaves out of the copy: UTF-8, escapes and control characters. Everything else is in the copy,
;; which a parser reads. What it is not certain of it reports as doubtful, and the text is read in another way.
;;
;; Compiled by `deno task wasm` into `module.ts`; `scan.ts` is the only caller.
(module
  ;; The layout of the memory and the flags are also in `scan.ts`.
  (memory (export "memory") 1)

  ;; Tables at 0: the validity of escapes and of UTF-8 by nibbles, as vectors of 16 bytes.
  ;; Escaped characters: `"` `/` (bit 0 by 2x), `\` (bit 1 by 5x), `b` `f` `n` (bit 2 by 6x), `r` `t` `u` (bit 3 by 7x).
  (data (i32.const 0)  "\00\00\0d\00\08\08\04\00\00\00\00\00\02\00\04\01") ;; escapes, low nibble
  (data (i32.const 16) "\00\00\01\00\00\02\04\08\00\00\00\00\00\00\00\00") ;; escapes, high nibble
  ;; Bits: 1 too short, 2 too long, 4 overlong 3, 8 too large, 16 surrogate, 32 overlong 2, 64 too large or
  ;; overlong 4, 128 two continuations.
  (data (i32.const 32) "\02\02\02\02\02\02\02\02\80\80\80\80\21\01\15\49") ;; first byte, high nibble
  (data (i32.const 48) "\e7\a3\83\83\8b\cb\cb\cb\cb\cb\cb\cb\cb\db\cb\cb") ;; first byte, low nibble
  (data (i32.const 64) "\01\01\01\01\01\01\01\01\e6\ae\ba\ba\01\01\01\01") ;; second byte, high nibble

  ;; Results at 128, as 32-bit numbers: values, names, entries of the top level, long strings, bytes of the copy.
  (global $top (mut i32) (i32.const 0))
  (global $longs (mut i32) (i32.const 0))
  (global $out (mut i32) (i32.const 0))
  ;; Where the part of the text begins that was not copied yet.
  (global $rest (mut i32) (i32.const 0))

  (func $mask (param $a v128) (param $b v128) (param $c v128) (param $d v128) (result i64)
    (i64.or
      (i64.or
        (i64.extend_i32_u (i8x16.bitmask (local.get $a)))
        (i64.shl (i64.extend_i32_u (i8x16.bitmask (local.get $b))) (i64.const 16)))
      (i64.or
        (i64.shl (i64.extend_i32_u (i8x16.bitmask (local.get $c))) (i64.const 32))
        (i64.shl (i64.extend_i32_u (i8x16.bitmask (local.get $d))) (i64.const 48)))))

  ;; Which bytes equal `$byte`.
  (func $equal (param $a v128) (param $b v128) (param $c v128) (param $d v128) (param $byte v128) (result i64)
    (call $mask
      (i8x16.eq (local.get $a) (local.get $byte))
      (i8x16.eq (local.get $b) (local.get $byte))
      (i8x16.eq (local.get $c) (local.get $byte))
      (i8x16.eq (local.get $d) (local.get $byte))))

  ;; All ones in the bytes that may follow a backslash.
  (func $escapable (param $x v128) (result v128)
    (i8x16.ne
      (v128.and
        (i8x16.swizzle (v128.load (i32.const 0)) (v128.and (local.get $x) (i8x16.splat (i32.const 15))))
        (i8x16.swizzle (v128.load (i32.const 16)) (i8x16.shr_u (local.get $x) (i32.const 4))))
      (v128.const i64x2 0 0)))

  (func $isHex (param $byte i32) (result i32)
    (i32.or
      (i32.lt_u (i32.sub (local.get $byte) (i32.const 0x30)) (i32.const 10))
      (i32.lt_u (i32.sub (i32.or (local.get $byte) (i32.const 0x20)) (i32.const 0x61)) (i32.const 6))))

  ;; Whether four hexadecimal digits follow each `u` of a mask.
  (func $areHex (param $at i32) (param $mask i64) (result i32)
    (local $p i32)
    (block $done
      (loop $each
        (br_if $done (i64.eqz (local.get $mask)))
        (local.set $p (i32.add (local.get $at) (i32.wrap_i64 (i64.ctz (local.get $mask)))))
        (local.set $mask (i64.and (local.get $mask) (i64.sub (local.get $mask) (i64.const 1))))
        (br_if $each
          (i32.and
            (i32.and
              (call $isHex (i32.load8_u offset=1 (local.get $p)))
              (call $isHex (i32.load8_u offset=2 (local.get $p))))
            (i32.and
              (call $isHex (i32.load8_u offset=3 (local.get $p)))
              (call $isHex (i32.load8_u offset=4 (local.get $p))))))
        (return (i32.const 0))))
    (i32.const 1))

  ;; The faults of UTF-8 in 16 bytes, which may begin in the three bytes before; 0 for none.
  (func $faults (param $at i32) (result v128)
    (local $x v128) (local $first v128)
    (local.set $x (v128.load (local.get $at)))
    (local.set $first (v128.load (i32.sub (local.get $at) (i32.const 1))))
    (v128.xor
      (v128.and
        (v128.or
          (i8x16.sub_sat_u (v128.load (i32.sub (local.get $at) (i32.const 2))) (i8x16.splat (i32.const 0x60)))
          (i8x16.sub_sat_u (v128.load (i32.sub (local.get $at) (i32.const 3))) (i8x16.splat (i32.const 0x70))))
        (i8x16.splat (i32.const 0x80)))
      (v128.and
        (v128.and
          (i8x16.swizzle (v128.load (i32.const 32)) (i8x16.shr_u (local.get $first) (i32.const 4)))
          (i8x16.swizzle (v128.load (i32.const 48)) (v128.and (local.get $first) (i8x16.splat (i32.const 15)))))
        (i8x16.swizzle (v128.load (i32.const 64)) (i8x16.shr_u (local.get $x) (i32.const 4))))))

  ;; Notes a place of the top level. The caller has bounded the number of entries.
  (func $note (param $at i32) (param $topAt i32)
    (i32.store (i32.add (local.get $topAt) (i32.shl (global.get $top) (i32.const 2))) (local.get $at))
    (global.set $top (i32.add (global.get $top) (i32.const 1))))

  ;; Copies the text up to `$to`.
  (func $copyTo (param $to i32)
    (local $count i32)
    (local.set $count (i32.sub (local.get $to) (global.get $rest)))
    (memory.copy (global.get $out) (global.get $rest) (local.get $count))
    (global.set $out (i32.add (global.get $out) (local.get $count))))

  (func $put (param $byte i32)
    (i32.store8 (global.get $out) (local.get $byte))
    (global.set $out (i32.add (global.get $out) (i32.const 1))))

  ;; Writes a number in decimal digits.
  (func $decimal (param $number i32)
    (if (i32.ge_u (local.get $number) (i32.const 10))
      (then (call $decimal (i32.div_u (local.get $number) (i32.const 10)))))
    (call $put (i32.add (i32.const 0x30) (i32.rem_u (local.get $number) (i32.const 10)))))

  ;; Leaves a long string out of the copy, unless it is a name. In its place goes its number, counted from 1, times
  ;; 1e-300; texts in which a number has an exponent are doubtful, so no other number looks like this one. The spaces
  ;; around it keep a digit or a sign that stands beside the string, which is not JSON, from becoming part of the number.
  (func $leaveOut (param $open i32) (param $close i32) (param $longAt i32)
    (local $p i32) (local $byte i32)
    (local.set $p (i32.add (local.get $close) (i32.const 1)))
    (loop $space
      (local.set $byte (i32.load8_u (local.get $p)))
      (if (i32.eq (local.get $byte) (i32.const 0x3a)) (then (return)))
      (local.set $p (i32.add (local.get $p) (i32.const 1)))
      ;; 64 spaces may be between a name and its colon; behind more of them, a name is left out, and the copy is not
      ;; JSON.
      (br_if $space
        (i32.and
          (i32.le_u (local.get $byte) (i32.const 0x20))
          (i32.lt_u (local.get $p) (i32.add (local.get $close) (i32.const 64))))))
    (call $copyTo (local.get $open))
    (global.set $rest (i32.add (local.get $close) (i32.const 1)))
    (local.set $p (i32.add (local.get $longAt) (i32.shl (global.get $longs) (i32.const 3))))
    (i32.store (local.get $p) (i32.add (local.get $open) (i32.const 1)))
    (i32.store offset=4 (local.get $p) (local.get $close))
    (global.set $longs (i32.add (global.get $longs) (i32.const 1)))
    (call $put (i32.const 0x20))
    (call $decimal (global.get $longs))
    (i32.store (global.get $out) (i32.const 0x30332d65)) ;; e-30
    (i32.store16 offset=4 (global.get $out) (i32.const 0x2030)) ;; 0 and a space
    (global.set $out (i32.add (global.get $out) (i32.const 6))))

  ;; Scans `$length` bytes at `$in`, behind at least 16 bytes of ASCII and before at least 128 spaces.
  ;; Returns flags: 1 doubtful, 2 a number of 8 digits or more, 4 bytes beyond ASCII.
  (func (export "scan")
    (param $in i32) (param $length i32) (param $outAt i32) (param $longBytes i32)
    (param $topAt i32) (param $topMax i32) (param $longAt i32) (param $depthMax i32)
    (result i32)
    (local $at i32) (local $end i32) (local $flags i32)
    (local $a v128) (local $b v128) (local $c v128) (local $d v128)
    (local $quotes i64) (local $backslashes i64) (local $escaped i64) (local $inString i64)
    (local $wasEscaped i64) (local $wasInString i64) (local $follows i64) (local $odd i64) (local $sum i64)
    (local $wasHigh i32) (local $isHigh i32)
    (local $outside i64) (local $commas i64) (local $colons i64) (local $opens i64) (local $closes i64)
    (local $digits i64) (local $run i64) (local $wasDigit i64)
    (local $p i32) (local $byte i32) (local $open i32) (local $depth i32) (local $closing i32)
    (local $values i32) (local $names i32)
    (global.set $top (i32.const 0))
    (global.set $longs (i32.const 0))
    (global.set $out (local.get $outAt))
    (global.set $rest (local.get $in))
    (local.set $at (local.get $in))
    (local.set $end (i32.add (local.get $in) (local.get $length)))
    (loop $blocks
      (local.set $a (v128.load (local.get $at)))
      (local.set $b (v128.load offset=16 (local.get $at)))
      (local.set $c (v128.load offset=32 (local.get $at)))
      (local.set $d (v128.load offset=48 (local.get $at)))

      ;; What a backslash escapes: the byte behind a sequence of backslashes of odd length.
      (local.set $backslashes
        (call $equal (local.get $a) (local.get $b) (local.get $c) (local.get $d) (i8x16.splat (i32.const 0x5c))))
      (if (i64.eqz (local.get $backslashes))
        (then
          (local.set $escaped (local.get $wasEscaped))
          (local.set $wasEscaped (i64.const 0)))
        (else
          (local.set $backslashes
            (i64.and (local.get $backslashes) (i64.xor (local.get $wasEscaped) (i64.const -1))))
          (local.set $follows
            (i64.or (i64.shl (local.get $backslashes) (i64.const 1)) (local.get $wasEscaped)))
          (local.set $odd
            (i64.and
              (i64.and (local.get $backslashes) (i64.const 0xaaaaaaaaaaaaaaaa))
              (i64.xor (local.get $follows) (i64.const -1))))
          (local.set $sum (i64.add (local.get $odd) (local.get $backslashes)))
          (local.set $wasEscaped (i64.extend_i32_u (i64.lt_u (local.get $sum) (local.get $backslashes))))
          (local.set $escaped
            (i64.and
              (i64.xor (i64.const 0x5555555555555555) (i64.shl (local.get $sum) (i64.const 1)))
              (local.get $follows)))))

      ;; The insides of strings, with their opening quotes: an odd number of quotes up to there.
      (local.set $quotes
        (i64.and
          (call $equal (local.get $a) (local.get $b) (local.get $c) (local.get $d) (i8x16.splat (i32.const 0x22)))
          (i64.xor (local.get $escaped) (i64.const -1))))
      (local.set $inString (local.get $quotes))
      (local.set $inString (i64.xor (local.get $inString) (i64.shl (local.get $inString) (i64.const 1))))
      (local.set $inString (i64.xor (local.get $inString) (i64.shl (local.get $inString) (i64.const 2))))
      (local.set $inString (i64.xor (local.get $inString) (i64.shl (local.get $inString) (i64.const 4))))
      (local.set $inString (i64.xor (local.get $inString) (i64.shl (local.get $inString) (i64.const 8))))
      (local.set $inString (i64.xor (local.get $inString) (i64.shl (local.get $inString) (i64.const 16))))
      (local.set $inString (i64.xor (local.get $inString) (i64.shl (local.get $inString) (i64.const 32))))
      (local.set $inString (i64.xor (local.get $inString) (local.get $wasInString)))
      (local.set $wasInString (i64.shr_s (local.get $inString) (i64.const 63)))

      ;; No control character may be in a string.
      (if (i32.eqz (i64.eqz (i64.and
            (local.get $inString)
            (call $mask
              (i8x16.lt_u (local.get $a) (i8x16.splat (i32.const 0x20)))
              (i8x16.lt_u (local.get $b) (i8x16.splat (i32.const 0x20)))
              (i8x16.lt_u (local.get $c) (i8x16.splat (i32.const 0x20)))
              (i8x16.lt_u (local.get $d) (i8x16.splat (i32.const 0x20)))))))
        (then (return (i32.const 1))))

      (if (i32.eqz (i64.eqz (local.get $escaped)))
        (then
          (if (i32.eqz (i64.eqz (i64.and
                (local.get $escaped)
                (i64.xor (i64.const -1)
                  (call $mask
                    (call $escapable (local.get $a)) (call $escapable (local.get $b))
                    (call $escapable (local.get $c)) (call $escapable (local.get $d)))))))
            (then (return (i32.const 1))))
          (if (i32.eqz (call $areHex (local.get $at)
                (i64.and
                  (local.get $escaped)
                  (call $equal (local.get $a) (local.get $b) (local.get $c) (local.get $d)
                    (i8x16.splat (i32.const 0x75))))))
            (then (return (i32.const 1))))))

      (local.set $isHigh
        (i8x16.bitmask
          (v128.or (v128.or (local.get $a) (local.get $b)) (v128.or (local.get $c) (local.get $d)))))
      (if (i32.or (local.get $isHigh) (local.get $wasHigh))
        (then
          (local.set $flags (i32.or (local.get $flags) (i32.const 4)))
          (if (v128.any_true
                (v128.or
                  (v128.or
                    (call $faults (local.get $at))
                    (call $faults (i32.add (local.get $at) (i32.const 16))))
                  (v128.or
                    (call $faults (i32.add (local.get $at) (i32.const 32)))
                    (call $faults (i32.add (local.get $at) (i32.const 48))))))
            (then (return (i32.const 1))))))
      (local.set $wasHigh (local.get $isHigh))

      (block $next
        ;; Most blocks of a long prompt are all inside a string.
        (local.set $outside
          (i64.xor (i64.const -1) (i64.or (local.get $inString) (local.get $quotes))))
        (br_if $next (i64.eqz (i64.or (local.get $outside) (local.get $quotes))))

        (block $strings
          (loop $quote
            (br_if $strings (i64.eqz (local.get $quotes)))
            (local.set $p (i32.add (local.get $at) (i32.wrap_i64 (i64.ctz (local.get $quotes)))))
            (local.set $quotes (i64.and (local.get $quotes) (i64.sub (local.get $quotes) (i64.const 1))))
            (if (local.get $open)
              (then
                (if (i32.gt_u (i32.sub (local.get $p) (local.get $open)) (local.get $longBytes))
                  (then (call $leaveOut (local.get $open) (local.get $p) (local.get $longAt))))
                (local.set $open (i32.const 0)))
              (else (local.set $open (local.get $p))))
            (br $quote)))
        (br_if $next (i64.eqz (local.get $outside)))

        (local.set $digits
          (i64.and (local.get $outside)
            (call $mask
              (i8x16.lt_u (i8x16.sub (local.get $a) (i8x16.splat (i32.const 0x30))) (i8x16.splat (i32.const 10)))
              (i8x16.lt_u (i8x16.sub (local.get $b) (i8x16.splat (i32.const 0x30))) (i8x16.splat (i32.const 10)))
              (i8x16.lt_u (i8x16.sub (local.get $c) (i8x16.splat (i32.const 0x30))) (i8x16.splat (i32.const 10)))
              (i8x16.lt_u (i8x16.sub (local.get $d) (i8x16.splat (i32.const 0x30))) (i8x16.splat (i32.const 10))))))
        (if (i32.eqz (i64.eqz (i64.or (local.get $digits) (local.get $wasDigit))))
          (then
            ;; An exponent: `e` or `E` behind a digit.
            (if (i32.eqz (i64.eqz (i64.and
                  (i64.or (i64.shl (local.get $digits) (i64.const 1)) (local.get $wasDigit))
                  (i64.and (local.get $outside)
                    (call $equal
                      (v128.or (local.get $a) (i8x16.splat (i32.const 0x20)))
                      (v128.or (local.get $b) (i8x16.splat (i32.const 0x20)))
                      (v128.or (local.get $c) (i8x16.splat (i32.const 0x20)))
                      (v128.or (local.get $d) (i8x16.splat (i32.const 0x20)))
                      (i8x16.splat (i32.const 0x65)))))))
              (then (return (i32.const 1))))
            ;; Runs of 8 digits, and of 32; a longer run has half of itself in one block.
            (local.set $run (i64.and (local.get $digits) (i64.shr_u (local.get $digits) (i64.const 1))))
            (local.set $run (i64.and (local.get $run) (i64.shr_u (local.get $run) (i64.const 2))))
            (local.set $run (i64.and (local.get $run) (i64.shr_u (local.get $run) (i64.const 4))))
            (if (i32.eqz (i64.eqz (local.get $run)))
              (then
                (local.set $flags (i32.or (local.get $flags) (i32.const 2)))
                (local.set $run (i64.and (local.get $run) (i64.shr_u (local.get $run) (i64.const 8))))
                (local.set $run (i64.and (local.get $run) (i64.shr_u (local.get $run) (i64.const 16))))
                (if (i32.eqz (i64.eqz (local.get $run))) (then (return (i32.const 1))))))))
        (local.set $wasDigit (i64.shr_u (local.get $digits) (i64.const 63)))

        (local.set $commas (i64.and (local.get $outside)
          (call $equal (local.get $a) (local.get $b) (local.get $c) (local.get $d) (i8x16.splat (i32.const 0x2c)))))
        (local.set $colons (i64.and (local.get $outside)
          (call $equal (local.get $a) (local.get $b) (local.get $c) (local.get $d) (i8x16.splat (i32.const 0x3a)))))
        ;; Brackets and braces differ in the same bit.
        (local.set $a (v128.or (local.get $a) (i8x16.splat (i32.const 0x20))))
        (local.set $b (v128.or (local.get $b) (i8x16.splat (i32.const 0x20))))
        (local.set $c (v128.or (local.get $c) (i8x16.splat (i32.const 0x20))))
        (local.set $d (v128.or (local.get $d) (i8x16.splat (i32.const 0x20))))
        (local.set $opens (i64.and (local.get $outside)
          (call $equal (local.get $a) (local.get $b) (local.get $c) (local.get $d) (i8x16.splat (i32.const 0x7b)))))
        (local.set $closes (i64.and (local.get $outside)
          (call $equal (local.get $a) (local.get $b) (local.get $c) (local.get $d) (i8x16.splat (i32.const 0x7d)))))
        (local.set $values
          (i32.add (local.get $values)
            (i32.wrap_i64 (i64.add (i64.popcnt (local.get $commas)) (i64.popcnt (local.get $opens))))))
        (local.set $names (i32.add (local.get $names) (i32.wrap_i64 (i64.popcnt (local.get $colons)))))
        (if (i32.gt_s
              (i32.add (local.get $depth) (i32.wrap_i64 (i64.popcnt (local.get $opens))))
              (local.get $depthMax))
          (then (return (i32.const 1))))
        (local.set $closing (i32.wrap_i64 (i64.popcnt (local.get $closes))))

        (if (i32.gt_s (i32.sub (local.get $depth) (local.get $closing)) (i32.const 1))
          (then
            ;; The block does not come up to the top level.
            (local.set $depth
              (i32.add
                (i32.sub (local.get $depth) (local.get $closing))
                (i32.wrap_i64 (i64.popcnt (local.get $opens))))))
          (else
            (if (i32.gt_u (i32.add (global.get $top) (i32.const 64)) (local.get $topMax))
              (then (return (i32.const 1))))
            (local.set $outside
              (i64.or
                (i64.or (local.get $commas) (local.get $colons))
                (i64.or (local.get $opens) (local.get $closes))))
            (loop $structure
              (br_if $next (i64.eqz (local.get $outside)))
              (local.set $p (i32.add (local.get $at) (i32.wrap_i64 (i64.ctz (local.get $outside)))))
              (local.set $outside (i64.and (local.get $outside) (i64.sub (local.get $outside) (i64.const 1))))
              (local.set $byte (i32.or (i32.load8_u (local.get $p)) (i32.const 0x20)))
              (if (i32.eq (local.get $byte) (i32.const 0x7b))
                (then (local.set $depth (i32.add (local.get $depth) (i32.const 1)))
                  (if (i32.eq (local.get $depth) (i32.const 1)) (then (call $note (local.get $p) (local.get $topAt)))))
                (else
                  (if (i32.eq (local.get $depth) (i32.const 1)) (then (call $note (local.get $p) (local.get $topAt))))
                  (if (i32.eq (local.get $byte) (i32.const 0x7d))
                    (then
                      (local.set $depth (i32.sub (local.get $depth) (i32.const 1)))
                      (if (i32.lt_s (local.get $depth) (i32.const 0)) (then (return (i32.const 1))))))))
              (br $structure)))))

      (local.set $at (i32.add (local.get $at) (i32.const 64)))
      ;; Up to the block that begins behind the text, so that a character which is cut off at the end is a fault.
      (br_if $blocks (i32.le_u (local.get $at) (local.get $end))))

    (if (i32.or (local.get $open) (local.get $depth)) (then (return (i32.const 1))))
    (call $copyTo (local.get $end))
    (i32.store (i32.const 128) (local.get $values))
    (i32.store (i32.const 132) (local.get $names))
    (i32.store (i32.const 136) (global.get $top))
    (i32.store (i32.const 140) (global.get $longs))
    (i32.store (i32.const 144) (i32.sub (global.get $out) (local.get $outAt)))
    (local.get $flags)))
