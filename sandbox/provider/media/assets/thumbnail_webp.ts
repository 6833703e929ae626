/**
 * The first frame of the clip as WebP. Made for this project; see README.md beside this file. Base64, in lines.
 *
 * - Folder `sandbox/provider/media/assets/`: small media files of the sandbox as base64 text.
 * - In: nothing: the files are constants.
 * - Out: the bytes of a sound, a clip and a picture, as base64.
 * - Never: imports anything, or holds files that were made elsewhere.
 */
export const thumbnailWebpBase64: readonly string[] = [
  "UklGRrgGAABXRUJQVlA4IKwGAABwIwCdASqgAFoAPu1qrE6ppiQiKBiN2TAdiWwA0BB3Sc+vfll+QHzZ2B+8fjDmFzSdgP7f",
  "7kPmz/ffVl5gn90/oHTG8wH6vfuV7wX+v/W73bf7z+AewB/rvR9/zHsNf0f/d+wB+uXpr/ud8I/92/8f7ge1B//5j3ikXX2H",
  "nzjZl8nXkCfSf9d4gHsqZ+f50HghIVUbLOFG2KcqwE8LQkS6GtwqlpDm21O7xDr9Di4ZYVAMqZk0JbGYZDwtDfD4/NfqHLw7",
  "EL4HU8tkHiKSK+PYTXEICtkl9QYZq4YwJ2oefLgQ/WWxknzaxUvuIYYdqxutz8ZJMAocs+1LlpnrYdoGK2NBnbUpuY1QmVqz",
  "9KWga0htpCl1Jfm+i8mUxu3bXLmiavoAAP7k/RfB/I581ILoHGAb3VHrYMFhDPchzttV40qu3HkP5cQJGLinNcU4hZuphYLl",
  "8tQMvo1Np61PfxiIgFQMror7rvRPrk//9/sYiuHS44StIRmprhnrhm763M/idSnuAjHd1XCyJ9kKC4BnM99Z0xc3Lvn56iNe",
  "fTr3bgQ0IKwzlDJhxYk0FbzXInp6uR2P344hJe7OrHCou9+GbpdH0rfamSMi20a0PHRSPizZrFAXVTQtPb7BVYO5kXok8cfe",
  "LNEYI/GzPSyPakFzJY0Wa6Gai9VC0am8TNotHygvRsEObjA0hag9HrEd/r6DzOdByR/2l0ZxYCirWTpD1T/97mE1zxv27C8F",
  "Yz8JD5ZWCkxs0Zo8+0vtAUiST201XR0DNACrHHQsPdG6IEgb7Kn/BTyAJCK9CHfwsVhnanBOQJjdmujxPWA2BwlWA842ysFJ",
  "d0V0KWGaqX09z1UOpCcrH1lzo54F6chNammgBhTCM+jufPibbYF+8iKlZ2sT+vmQiFGY5Mg4vIxHQ+oHSQ8nYwEWqurx/jSG",
  "rgqXCZLmvlrpJ5m+55n306T7pfDLpqXQUN+PI9HBsPiI+VNCdA348j0cGw+Ib8r9Kd8t2HF2KWYzhVZTYS7Urziavrz16G0j",
  "WoT2VEoT2A2O8gw4gr3bGQeR9Gy9+fLRi2P924VnPU6+7+8W+vOHofof5aYjN43tO4eoL8/Xel2D/ockWXA26nhT3oaq86Or",
  "UkLUQwcTw9bwA8MdGLZxVoaDFPES9Z6VpJLgJq9EQUUGNAD//hrnp7PBP5+PjwU9ngn8+zwoCfGMp9PW8jr+t25EAd6eegRT",
  "577n3KL2JQFornqXeX7nxw0adC1Z6yfrThMnH1nVcR/mujU8pp5LxmqIx+QDQv1QwTa0FVQ35mlb1zEmB4vMsJifRnRys091",
  "A2QpKiVhMpw1Xm0c2QGQ/jn1j2j4QWgwTnX6IM47VGkUFzZspmb7nmJB5J68sWjqj7WAULd5dyn+xYokkKf658FvKkf+QAvU",
  "vIEVvAXiNO4gTSTErW8Klu1HJM7J8zR7YHE1785aJYaILwFkPYQDwhs6LlrpSyFc7EsddF9zsph+eCZJF0aPIiJfWD8YEPns",
  "++RaNl+rmzHd2w8gjn72z0hJzgBOplFnPIdQC7gzw/O9fyNWm673mGfAKmAMQflXgGQPUaKr51TlSUoAH0G5MBDRbzyI2HsV",
  "/XIBqKYgP7cJwrNCoBuBE8K+lwNMqbfQXKeB0QzbAagJSM8aBoUYI3/iamXvOSZB1puoL6Z6Rc6Km0i5hbxa4lpQgrFeNQC5",
  "0sCHgf5Zs4yeg9EK8iZhzIXh0xz6NJrB02jsNo4nyr9ACkIHFv7sfzoOGSi4peG73IkAkR/3ODTA8I5Qhzb3FFKO/+HINOGb",
  "tTmaX3hSuAuUH57UXqtkTQLFn8Tm4eZtq4DRL2YwstF/hn6z63R7y1N/v9iO9rZq/5cxPyoZYo9D6Zkg6WJcgxi0YdghMDLY",
  "uFoS8j/5GazgNk9NRwmFyMAGVL53EABgY9fQbL23Ppk2rDzM70nUFsP5j29h5kRNhZaDGd+4wPtyQKKPEDE2j69bmaYZLDEm",
  "xIvwWA8prFGaOYPxPzbBaoUBWG0U6aAKSVUUggd/eKU2zeTZyfWsuYwZVOfm+zyntVC0zSHl+fNIVuXazfRWsV0PBFA8DoSv",
  "z0UKKb+cv+B6yt2G4h/ysSfmgV9UXoZG+jEUbKpzsZWQ3bqJbI38VPkiUVcABLTofBgAKG9FSAIg++ZC06g2nZuOzJJxAff8",
  "bmhuzOIYCgQabc+3vkavmbVwdQBGbgT7rGaQCOKkwlFK8bxtr3JXaqjl/BHNdgSIvTm/nH2kQlw3bBXT6ASriWWQA3+AAAAA",
];
