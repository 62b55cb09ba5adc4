// The call by which CDK's function finds the Auto Scaling group of a node group.
"use strict";
const http = require("http");

class DescribeNodegroupCommand {
  constructor(input) {
    this.path = `/clusters/${input.clusterName}/node-groups/${input.nodegroupName}`;
  }
}

class EKSClient {
  constructor() {
    this.config = { apiVersion: "2017-11-01", region: async () => process.env.AWS_REGION };
  }

  send(command) {
    const scope = `${process.env.AWS_ACCESS_KEY_ID}/20260101/${process.env.AWS_REGION}/eks/aws4_request`;
    const headers = { Authorization: `AWS4-HMAC-SHA256 Credential=${scope}, SignedHeaders=host, Signature=none` };
    return new Promise((resolve, reject) => {
      const sent = http.request(process.env.AWS_ENDPOINT_URL + command.path, { headers }, (response) => {
        let text = "";
        response.on("data", (chunk) => (text += chunk));
        response.on("end", () => (response.statusCode < 400 ? resolve(JSON.parse(text)) : reject(new Error(text))));
      });
      sent.on("error", reject);
      sent.end();
    });
  }
}

module.exports = { DescribeNodegroupCommand, EKSClient };
