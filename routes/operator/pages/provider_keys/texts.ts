/** Texts of the pages about keys of providers. */
import { maxStoredKeyNameChars } from "../../../../core/catalog/schema.ts";
import { defineTexts } from "../../../dashboard/text/i18n.ts";

export const providerKeysLabel = { en: "Provider keys", vi: "Khoá nhà cung cấp" };

export const providerKeysPath = "/operator/provider-keys";

/** The address at which keys are sealed anew. */
export const sealsPath = "/operator/provider-key-seals";

export function providerKeyPath(name: string): string {
  return `${providerKeysPath}/${encodeURIComponent(name)}`;
}

export const providerKeyTexts = defineTexts({
  both: {
    add: ["Add a key", "Thêm khoá"],
    name: ["Name", "Tên"],
    secret: ["Key", "Khoá"],
    addButton: ["Seal and add", "Niêm phong và thêm"],
    list: ["Stored keys", "Khoá đã lưu"],
    none: ["There are no stored keys", "Chưa có khoá nào được lưu"],
    fingerprint: ["Ends in", "Kết thúc bằng"],
    usedBy: ["Used by", "Nhà cung cấp dùng"],
    unused: ["no provider", "chưa nơi nào dùng"],
    changed: ["Added or replaced", "Thêm hoặc thay"],
    added: ["Added", "Thêm"],
    replaced: ["Replaced", "Thay"],
    never: ["never", "chưa lần nào"],
    state: ["State", "Trạng thái"],
    ready: ["Ready", "Sẵn sàng"],
    unopened: ["Cannot be opened", "Không mở được"],
    older: ["Older master key", "Khoá chủ cũ"],
    olderTitle: ["An older master key is still in use", "Một khoá chủ cũ vẫn đang được dùng"],
    reseal: ["Seal anew", "Niêm phong lại"],
    replace: ["Replace", "Thay khoá"],
    newSecret: ["New key", "Khoá mới"],
    replaceButton: ["Replace", "Thay khoá"],
    remove: ["Remove", "Xoá khoá"],
    removeButton: ["Remove", "Xoá"],
    removeConfirm: ["Remove this key for good?", "Xoá hẳn khoá này?"],
    removeAnyway: ["Remove all the same", "Vẫn xoá"],
    back: ["Back", "Quay lại"],
  },
  en: {
    lead:
      "Keys that this gateway sends to providers, sealed in the store with the master keys. A key is never shown again; every instance uses a new one within two seconds.",
    addText:
      "Give it a name, then choose it in the form of a provider. Keys in environment variables go on working beside it.",
    nameHint: "Lower-case letters, digits and hyphens, such as openai-main.",
    secretHint: "As the provider gave it. For a service account of Google, its JSON.",
    noneHint: "Providers may still take theirs from environment variables.",
    unopenedTitle: (names: string) => `Cannot be opened: ${names}`,
    unopenedText:
      "Sealed with a master key that this server does not have, or changed in the store. Providers do without. Put the earlier master key back at the end of GATEWAY_MASTER_KEYS and restart, or replace the keys here.",
    olderText:
      "It sealed some of these keys. Seal them anew before you take it out of GATEWAY_MASTER_KEYS. Every instance must have the newest one first.",
    replaceText:
      "Calls that are running finish with the old key, which leaves the store at once. Revoke it at the provider once calls succeed with the new one.",
    removeText: "The key is gone for good. Its name may be given to another one.",
    inUse: (providers: string) => `Still in use by ${providers}`,
    inUseText:
      "Without this key these providers are out of use: no call goes to them until they have another one. Change them in the catalogue first, or remove the key all the same.",
    problems: {
      name:
        `The name must have 1 to ${maxStoredKeyNameChars} lower-case letters, digits and hyphens, a letter first.`,
      secret:
        "The key must be visible ASCII characters without spaces, or the JSON of a service account, and not longer than 8,192 characters.",
      exists: "There is a key of this name. Replace it, or choose another name.",
      full: "There are as many keys as the store may hold. Remove those that no provider uses.",
    },
  },
  vi: {
    lead:
      "Khoá mà gateway gửi cho nhà cung cấp, niêm phong trong kho dữ liệu bằng khoá chủ. Khoá không bao giờ hiện lại; mọi máy dùng khoá mới trong vòng hai giây.",
    addText:
      "Đặt tên, rồi chọn tên đó trong form của nhà cung cấp. Khoá trong biến môi trường vẫn dùng được song song.",
    nameHint: "Chữ thường, chữ số và dấu gạch nối, ví dụ openai-main.",
    secretHint: "Đúng như nhà cung cấp đưa. Với service account của Google là nội dung JSON.",
    noneHint: "Nhà cung cấp vẫn có thể lấy khoá từ biến môi trường.",
    unopenedTitle: (names) => `Không mở được: ${names}`,
    unopenedText:
      "Được niêm phong bằng một khoá chủ mà máy chủ này không có, hoặc đã bị sửa trong kho. Nhà cung cấp dùng chúng phải chạy thiếu. Hãy đưa khoá chủ cũ trở lại cuối GATEWAY_MASTER_KEYS rồi khởi động lại, hoặc thay khoá tại đây.",
    olderText:
      "Khoá chủ này đã niêm phong vài khoá ở đây. Hãy niêm phong lại trước khi bỏ nó khỏi GATEWAY_MASTER_KEYS. Mọi máy phải có khoá chủ mới nhất trước đã.",
    replaceText:
      "Lượt gọi đang chạy vẫn dùng khoá cũ đến hết. Khoá cũ bị xoá khỏi kho ngay: hãy thu hồi nó ở nhà cung cấp khi các lượt gọi đã chạy tốt với khoá mới.",
    removeText: "Khoá bị xoá hẳn. Tên của nó có thể đặt cho khoá khác.",
    inUse: (providers) => `${providers} vẫn đang dùng khoá này`,
    inUseText:
      "Thiếu khoá này, các nhà cung cấp đó ngừng hoạt động: không lượt gọi nào tới họ cho đến khi có khoá khác. Hãy sửa trong danh mục trước, hoặc vẫn xoá khoá.",
    problems: {
      name:
        `Tên phải có 1 đến ${maxStoredKeyNameChars} chữ thường, chữ số và dấu gạch nối, bắt đầu bằng chữ cái.`,
      secret:
        "Khoá phải là ký tự ASCII nhìn thấy được, không có khoảng trắng, hoặc JSON của service account, và không dài quá 8.192 ký tự.",
      exists: "Tên khoá này đã có. Hãy thay khoá đó, hoặc chọn tên khác.",
      full: "Kho đã đủ số khoá. Hãy xoá các khoá không ai dùng.",
    },
  },
});
