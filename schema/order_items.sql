-- Order items, from GET /order-items. Key: id. Fields of the nested article, client and outlet are in
-- columns with the prefixes article_, client_ and outlet_.
CREATE TABLE order_items (
    id                          VARCHAR NOT NULL, -- field 1
    referrer_id                 VARCHAR,          -- field 2
    referrer_team_id            VARCHAR,          -- field 3
    product_id                  VARCHAR,          -- field 4, references products.id
    commission_amount           DECIMAL(18,6),    -- field 5
    commission_date_paid        TIMESTAMPTZ,      -- field 6
    commission_status           VARCHAR,          -- field 7
    is_accounting_completed     BOOLEAN,          -- field 8
    is_publisher_paid           BOOLEAN,          -- field 9
    is_reseller_paid            BOOLEAN,          -- field 10
    refund_required             BOOLEAN,          -- field 11
    is_refunded                 BOOLEAN,          -- field 12
    refund_date                 TIMESTAMPTZ,      -- field 13
    refund_method               VARCHAR,          -- field 14
    refund_reference            VARCHAR,          -- field 15
    vendor_invoice_id           VARCHAR,          -- field 16
    vendor_cost                 DECIMAL(18,6),    -- field 17
    vendor_invoice_date         TIMESTAMPTZ,      -- field 18
    vendor_paid_date            TIMESTAMPTZ,      -- field 19
    vendor_invoice_url          VARCHAR,          -- field 20
    accounting_completion_date  TIMESTAMPTZ,      -- field 21
    publisher_paid_date         TIMESTAMPTZ,      -- field 22
    reseller_paid_date          TIMESTAMPTZ,      -- field 23
    created_at                  TIMESTAMPTZ,      -- field 24
    updated_at                  TIMESTAMPTZ,      -- field 25
    deleted_at                  TIMESTAMPTZ,      -- field 26
    order_id                    VARCHAR,          -- field 27, references orders.id
    client_id                   VARCHAR,          -- field 28
    date_paid                   TIMESTAMPTZ,      -- field 29
    sale_price                  DECIMAL(18,6),    -- field 30
    product_name                VARCHAR,          -- field 31
    product_price               DECIMAL(18,6),    -- field 32
    product_type                VARCHAR,          -- field 33
    article_id                  VARCHAR,          -- field 34, references articles.id
    article_name                VARCHAR,          -- field 35
    article_campaign_id         VARCHAR,          -- field 36, references campaigns.id
    article_campaign_name       VARCHAR,          -- field 37
    article_campaign_profile_id VARCHAR,          -- field 38, references profiles.id
    article_writer_id           VARCHAR,          -- field 39
    article_writer_first_name   VARCHAR,          -- field 40
    article_writer_last_name    VARCHAR,          -- field 41
    internal_cost               DECIMAL(18,6),    -- field 42
    reseller_price              DECIMAL(18,6),    -- field 43
    client_first_name           VARCHAR,          -- field 44
    client_last_name            VARCHAR,          -- field 45
    outlet_id                   VARCHAR,          -- field 46, references outlets.id
    outlet_name                 VARCHAR,          -- field 47
    outlet_logo                 VARCHAR,          -- field 48
    outlet_website_url          VARCHAR,          -- field 49
    extra                       JSON              -- field 50
);

COMMENT ON TABLE order_items IS 'Paid line items with commission, cost and invoice data, one row per item. From GET /order-items. The spec names no currency for the amounts.';
COMMENT ON COLUMN order_items.id IS 'Id of the order item. Spec 2.4 OrderItem.id.';
COMMENT ON COLUMN order_items.referrer_id IS 'Id of the referrer. Spec 2.4 OrderItem.referrer_id.';
COMMENT ON COLUMN order_items.referrer_team_id IS 'Id of the team of the referrer. Spec 2.4 OrderItem.referrer_team_id.';
COMMENT ON COLUMN order_items.product_id IS 'Id of the product. Spec 2.4 OrderItem.product_id.';
COMMENT ON COLUMN order_items.commission_amount IS 'Commission on the item. The spec names no currency. Spec 2.4 OrderItem.commission_amount.';
COMMENT ON COLUMN order_items.commission_date_paid IS 'When the commission was paid, UTC; NULL while it is unpaid. Spec 2.4 OrderItem.commission_date_paid.';
COMMENT ON COLUMN order_items.commission_status IS 'Status of the commission; the specification lists no values. Spec 2.4 OrderItem.commission_status.';
COMMENT ON COLUMN order_items.is_accounting_completed IS 'Whether accounting is completed. Spec 2.4 OrderItem.is_accounting_completed.';
COMMENT ON COLUMN order_items.is_publisher_paid IS 'Whether the publisher is paid. Spec 2.4 OrderItem.is_publisher_paid.';
COMMENT ON COLUMN order_items.is_reseller_paid IS 'Whether the reseller is paid. Spec 2.4 OrderItem.is_reseller_paid.';
COMMENT ON COLUMN order_items.refund_required IS 'Whether a refund is due. Spec 2.4 OrderItem.refund_required.';
COMMENT ON COLUMN order_items.is_refunded IS 'Whether the item was refunded. Spec 2.4 OrderItem.is_refunded.';
COMMENT ON COLUMN order_items.refund_date IS 'When the item was refunded, UTC. Spec 2.4 OrderItem.refund_date.';
COMMENT ON COLUMN order_items.refund_method IS 'How the item was refunded. Spec 2.4 OrderItem.refund_method.';
COMMENT ON COLUMN order_items.refund_reference IS 'Reference of the refund. Spec 2.4 OrderItem.refund_reference.';
COMMENT ON COLUMN order_items.vendor_invoice_id IS 'Id of the invoice of the vendor. Spec 2.4 OrderItem.vendor_invoice_id.';
COMMENT ON COLUMN order_items.vendor_cost IS 'Amount that the vendor charges. The spec names no currency. Spec 2.4 OrderItem.vendor_cost.';
COMMENT ON COLUMN order_items.vendor_invoice_date IS 'Date of the invoice of the vendor, UTC. Spec 2.4 OrderItem.vendor_invoice_date.';
COMMENT ON COLUMN order_items.vendor_paid_date IS 'When the vendor was paid, UTC. Spec 2.4 OrderItem.vendor_paid_date.';
COMMENT ON COLUMN order_items.vendor_invoice_url IS 'Address of the invoice of the vendor. Spec 2.4 OrderItem.vendor_invoice_url.';
COMMENT ON COLUMN order_items.accounting_completion_date IS 'When accounting was completed, UTC. Spec 2.4 OrderItem.accounting_completion_date.';
COMMENT ON COLUMN order_items.publisher_paid_date IS 'When the publisher was paid, UTC. Spec 2.4 OrderItem.publisher_paid_date.';
COMMENT ON COLUMN order_items.reseller_paid_date IS 'When the reseller was paid, UTC. Spec 2.4 OrderItem.reseller_paid_date.';
COMMENT ON COLUMN order_items.created_at IS 'When the record was created, UTC. Spec 2.4 OrderItem.created_at.';
COMMENT ON COLUMN order_items.updated_at IS 'When the record was last changed, UTC. Spec 2.4 OrderItem.updated_at.';
COMMENT ON COLUMN order_items.deleted_at IS 'When the record was marked deleted, UTC; NULL while it is not deleted. Spec 2.4 OrderItem.deleted_at.';
COMMENT ON COLUMN order_items.order_id IS 'Id of the order: orders.id. Spec 2.4 OrderItem.order_id.';
COMMENT ON COLUMN order_items.client_id IS 'Id of the client. Spec 2.4 OrderItem.client_id.';
COMMENT ON COLUMN order_items.date_paid IS 'When the order was paid, UTC. Spec 2.4 OrderItem.date_paid.';
COMMENT ON COLUMN order_items.sale_price IS 'Price that the item was sold for. The spec names no currency. Spec 2.4 OrderItem.sale_price.';
COMMENT ON COLUMN order_items.product_name IS 'Name of the product when sold. Spec 2.4 OrderItem.product_name.';
COMMENT ON COLUMN order_items.product_price IS 'Price of the product in the catalog. The spec names no currency. Spec 2.4 OrderItem.product_price.';
COMMENT ON COLUMN order_items.product_type IS 'Type of the product. Spec 2.4 OrderItem.product_type.';
COMMENT ON COLUMN order_items.article_id IS 'Id of the article: articles.id; NULL until an article is assigned to the item. Spec 2.4 OrderItem.article_id.';
COMMENT ON COLUMN order_items.article_name IS 'Name of the article. Spec 2.4 OrderItem.article.name.';
COMMENT ON COLUMN order_items.article_campaign_id IS 'Id of the campaign of the article: campaigns.id. Spec 2.4 OrderItem.article.campaign.id.';
COMMENT ON COLUMN order_items.article_campaign_name IS 'Name of the campaign of the article. Spec 2.4 OrderItem.article.campaign.name.';
COMMENT ON COLUMN order_items.article_campaign_profile_id IS 'Id of the profile of that campaign. Spec 2.4 OrderItem.article.campaign.profile_id.';
COMMENT ON COLUMN order_items.article_writer_id IS 'Id of the writer of the article. Spec 2.4 OrderItem.article.writer.id.';
COMMENT ON COLUMN order_items.article_writer_first_name IS 'First name of the writer. Spec 2.4 OrderItem.article.writer.first_name.';
COMMENT ON COLUMN order_items.article_writer_last_name IS 'Last name of the writer. Spec 2.4 OrderItem.article.writer.last_name.';
COMMENT ON COLUMN order_items.internal_cost IS 'Internal cost of the item. The spec names no currency. Spec 2.4 OrderItem.internal_cost.';
COMMENT ON COLUMN order_items.reseller_price IS 'Price for the reseller. The spec names no currency. Spec 2.4 OrderItem.reseller_price.';
COMMENT ON COLUMN order_items.client_first_name IS 'First name of the client. Spec 2.4 OrderItem.client.first_name.';
COMMENT ON COLUMN order_items.client_last_name IS 'Last name of the client. Spec 2.4 OrderItem.client.last_name.';
COMMENT ON COLUMN order_items.outlet_id IS 'Id of the outlet. Spec 2.4 OrderItem.outlet.id.';
COMMENT ON COLUMN order_items.outlet_name IS 'Name of the outlet. Spec 2.4 OrderItem.outlet.name.';
COMMENT ON COLUMN order_items.outlet_logo IS 'Address of the logo of the outlet. Spec 2.4 OrderItem.outlet.logo.';
COMMENT ON COLUMN order_items.outlet_website_url IS 'Website of the outlet. Spec 2.4 OrderItem.outlet.website_url.';
COMMENT ON COLUMN order_items.extra IS 'Unknown fields, as one JSON object; NULL if there are none. Spec 2 (conventions).';
