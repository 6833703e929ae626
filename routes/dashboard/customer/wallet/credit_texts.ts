/** Texts about credit that an operator gives, and about voucher codes. */
import type { RedemptionRefusal } from "../../../../kv/money/credits/vouchers.ts";
import { defineTexts } from "../../text/i18n.ts";

type Refusals = Readonly<Record<RedemptionRefusal, string>>;

const refusalsEn: Refusals = {
  typo: "This is not a voucher code. Check each character; hyphens do not matter.",
  unknown: "There is no such voucher code.",
  used: "This voucher code has been used already.",
  not_yet: "This voucher code is not valid yet.",
  over: "This voucher code has expired.",
  budget: "The credit of this offer is used up.",
  paused: "This offer is paused. Try again later.",
  approval: "This offer has not begun yet.",
  limit: "You have already had your share of this offer.",
  too_many: "You have too much unspent credit. Use some of it first.",
  too_fast: "Too many wrong codes. Try again in an hour.",
  author: "Whoever makes an offer cannot use it.",
  account: "This account cannot be given credit.",
  amount: "This voucher code gives nothing.",
  mailbox: "This offer is for new accounts.",
  network: "This offer is for new accounts.",
  busy: "Many people use this offer right now. Try again in a moment.",
};
const refusalsVi: Refusals = {
  typo: "Đây không phải mã quà tặng. Hãy kiểm tra từng ký tự; dấu gạch nối không quan trọng.",
  unknown: "Không có mã quà tặng này.",
  used: "Mã quà tặng này đã được dùng.",
  not_yet: "Mã quà tặng này chưa có hiệu lực.",
  over: "Mã quà tặng này đã hết hạn.",
  budget: "Ưu đãi này đã hết tiền tặng.",
  paused: "Ưu đãi này đang tạm dừng. Hãy thử lại sau.",
  approval: "Ưu đãi này chưa bắt đầu.",
  limit: "Bạn đã nhận đủ phần của mình trong ưu đãi này.",
  too_many: "Bạn đang có quá nhiều khoản tặng chưa dùng. Hãy dùng bớt trước.",
  too_fast: "Nhập sai mã quá nhiều lần. Hãy thử lại sau một giờ.",
  author: "Người tạo ưu đãi không được dùng ưu đãi đó.",
  account: "Tài khoản này không nhận được tiền tặng.",
  amount: "Mã quà tặng này không có giá trị.",
  mailbox: "Ưu đãi này dành cho tài khoản mới.",
  network: "Ưu đãi này dành cho tài khoản mới.",
  busy: "Nhiều người đang dùng ưu đãi này. Hãy thử lại sau giây lát.",
};

export const creditTexts = defineTexts({
  en: {
    own: "Your own money",
    credit: "Credit",
    title: "Credit",
    spentFirst: "Credit is spent before your own money; what expires first goes first.",
    spentLast: "Credit is spent once your own money is used up; what expires first goes first.",
    none: "No credit at the moment. A voucher code gives you some.",
    from: "From",
    left: "Left",
    given: "Given",
    expires: "Expires",
    never: "Never",
    soon: (amount: string, day: string) => `${amount} of your credit expires on ${day}.`,
    code: "Voucher code",
    codeHint: "16 letters and digits.",
    redeem: "Redeem",
    redeemed: (amount: string) => `${amount} of credit are in your wallet.`,
    redeemedUntil: (amount: string, day: string) =>
      `${amount} of credit are in your wallet, until ${day}.`,
    repeated: (amount: string, time: string) =>
      `This code was already credited to your account: ${amount} on ${time}. It counts once.`,
    validFrom: (time: string) => `This voucher code is valid from ${time}.`,
    refusals: refusalsEn,
  },
  vi: {
    own: "Tiền của bạn",
    credit: "Tiền được tặng",
    title: "Tiền được tặng",
    spentFirst: "Tiền được tặng dùng trước tiền của bạn; khoản hết hạn sớm dùng trước.",
    spentLast: "Tiền được tặng dùng sau khi hết tiền của bạn; khoản hết hạn sớm dùng trước.",
    none: "Hiện chưa có khoản tặng nào. Mã quà tặng sẽ cho bạn một khoản.",
    from: "Từ",
    left: "Còn lại",
    given: "Được tặng",
    expires: "Hết hạn",
    never: "Không hết hạn",
    soon: (amount, day) => `${amount} tiền được tặng sẽ hết hạn ngày ${day}.`,
    code: "Mã quà tặng",
    codeHint: "16 chữ cái và chữ số.",
    redeem: "Dùng mã",
    redeemed: (amount) => `Đã nhận ${amount} vào ví.`,
    redeemedUntil: (amount, day) => `Đã nhận ${amount} vào ví, dùng đến ngày ${day}.`,
    repeated: (amount, time) =>
      `Mã này đã được cộng vào tài khoản của bạn: ${amount} lúc ${time}. Mỗi mã chỉ tính một lần.`,
    validFrom: (time) => `Mã quà tặng này có hiệu lực từ ${time}.`,
    refusals: refusalsVi,
  },
});
