// The calls of CDK's function that empties the default security group: Lambda has the AWS SDK, this machine has not.
"use strict";
const http = require("http");

// {GroupId: "sg-1", IpPermissions: [{IpProtocol: "-1"}]} -> GroupId=sg-1&IpPermissions.1.IpProtocol=-1
function flatten(value, path, into) {
  if (Array.isArray(value)) value.forEach((item, index) => flatten(item, `${path}.${index + 1}`, into));
  else if (value && typeof value === "object")
    Object.entries(value).forEach(([key, item]) => flatten(item, path ? `${path}.${key}` : key, into));
  else if (value !== undefined) into.append(path, String(value));
  return into;
}

function call(action, request) {
  const body = flatten(request, "", new URLSearchParams({ Action: action, Version: "2016-11-15" })).toString();
  const scope = `${process.env.AWS_ACCESS_KEY_ID}/20260101/${process.env.AWS_REGION}/ec2/aws4_request`;
  const headers = {
    "Content-Type": "application/x-www-form-urlencoded",
    "Content-Length": Buffer.byteLength(body),
    Authorization: `AWS4-HMAC-SHA256 Credential=${scope}, SignedHeaders=host, Signature=none`,
  };
  return new Promise((resolve, reject) => {
    const sent = http.request(process.env.AWS_ENDPOINT_URL, { method: "POST", headers }, (response) => {
      let text = "";
      response.on("data", (chunk) => (text += chunk));
      response.on("end", () => {
        if (response.statusCode < 400) return resolve({});
        const code = (/<Code>(.*?)<\/Code>/.exec(text) || [])[1] || `HTTP ${response.statusCode}`;
        reject(Object.assign(new Error(text), { name: code }));
      });
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

class EC2 {
  revokeSecurityGroupEgress(request) {
    return call("RevokeSecurityGroupEgress", request);
  }
  revokeSecurityGroupIngress(request) {
    return call("RevokeSecurityGroupIngress", request);
  }
  authorizeSecurityGroupEgress(request) {
    return call("AuthorizeSecurityGroupEgress", request);
  }
  authorizeSecurityGroupIngress(request) {
    return call("AuthorizeSecurityGroupIngress", request);
  }
}

exports.EC2 = EC2;
